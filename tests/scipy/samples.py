"""Arguments for the functions of SciPy that map arrays to arrays: module -> name -> calls as text.

`x y p` are vectors of 24 numbers (`p` positive, `u` between 0 and 1, `s` increasing), `M N` matrices of shape (4, 4),
`S T` positive definite ones, `R` of shape (6, 4), `I` an image of shape (9, 8), `B` a mask of its shape, `L` labels of
its parts, `k` whole numbers, `w` weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.hierarchy
import scipy.ndimage
import scipy.signal

_r = np.random.default_rng(7)
_M, _N = _r.normal(size=(2, 4, 4))
DATA = {
    "x": _r.normal(size=24),
    "y": _r.normal(size=24) + 0.3,
    "p": _r.uniform(0.5, 2.0, 24),
    "q": _r.uniform(0.5, 2.0, 24),
    "u": _r.uniform(0.05, 0.95, 24),
    "s": np.cumsum(_r.uniform(0.2, 1.0, 24)),
    "c": _r.uniform(0.5, 1.5, 4) + np.array([2.0, 0, 0, 0]),
    "d": _r.normal(size=4),
    "M": _M,
    "N": _N,
    "S": _M @ _M.T + 4 * np.eye(4),
    "T": _N @ _N.T + 3 * np.eye(4),
    "R": _r.normal(size=(6, 4)),
    "I": _r.normal(size=(9, 8)),
    "B": _r.uniform(size=(9, 8)) > 0.4,
    "L": _r.integers(0, 4, (9, 8)),
    "k": _r.integers(0, 5, 24),
    "t": _r.uniform(size=24) > 0.5,
    "v": _r.uniform(size=24) > 0.4,
    "w": _r.uniform(0.2, 1.0, (3, 3)),
    "sos": scipy.signal.butter(3, 0.3, output="sos"),
    "Z": scipy.cluster.hierarchy.linkage(_r.normal(size=(6, 4)), "average"),
    "b": np.array([0.2, 0.3, 0.1]),
    "a": np.array([1.0, -0.4, 0.1]),
}

CALLS: dict[str, str] = {
    "linalg": """
bandwidth(M)  cdf2rdf(d, M)  cho_solve_banded((b3(S), False), d)  cholesky_banded(b3(S))  companion(c)
convolution_matrix(c, 5)  cossin(q4(M), 2, 2)  diagsvd(c, 5, 4)  eig_banded(b3(S))  eigh_tridiagonal(c, d[:3])
eigvals_banded(b3(S))  eigvalsh_tridiagonal(c, d[:3])  expm_cond(M)  fiedler(c)  fiedler_companion(c)
fractional_matrix_power(S, 0.5)  ishermitian(S)  issymmetric(S)  ldl(S)  leslie(c, c[:3])  logm(S)
matmul_toeplitz(c, M)  matrix_balance(M)  null_space(R.T)  orth(R)  orthogonal_procrustes(M, N)  pinvh(S)
qr_multiply(M, N)  qz(M, N)  rq(M)  rsf2csf(M, q4(M))  signm(S)  solve_circulant(c, d)
solve_continuous_are(M, N, S, T)  solve_continuous_lyapunov(M, S)  solve_discrete_are(M, N, S, T)
solve_discrete_lyapunov(0.2 * M, S)  solve_lyapunov(M, S)  solve_toeplitz(c, d)
subspace_angles(R[:, :2], R[:, 2:])  funm(S, exp)  ordqz(M, N)  khatri_rao(M, N)
""",
    "signal.windows": """
chebwin(9, 50 + p[0])  dpss(9, 1 + p[0])  exponential(9, None, p[0])  gaussian(9, p[0])  general_cosine(9, c)
general_gaussian(9, p[0], p[1])  general_hamming(9, u[0])  kaiser(9, p[0])  kaiser_bessel_derived(8, p[0])
taylor(9, 4, 30 * p[0])
""",
    "signal": """
get_window(('kaiser', p[0]), 8)  iircomb(0.25, 30 * p[0])  kaiser_atten(9, u[0])  kaiser_beta(60 * p[0])
argrelextrema(x, np.greater)  argrelmax(x)  argrelmin(x)  bilinear(b, a)
chirp(s, 1.0, 2.0, 3.0)  coherence(x, y, nperseg=8)  csd(x, y, nperseg=8)  cspline1d(x)  cspline1d_eval(x, s)
cspline2d(I)  czt(x)  decimate(s4(x), 2)  deconvolve(x, b)  envelope(x)  find_peaks(x)  find_peaks_cwt(x, [2, 3])
freqz(b, a)  freqz_sos(sos)  freqz_zpk(b, a, 1.0)  gauss_spline(x, 3)  gausspulse(x)
group_delay((b, a))  hilbert2(I)  invres(b, a, d)  istft(stft8(x), nperseg=8)  lfilter_zi(b, a)
lfiltic(b, a, y[:2])  lombscargle(s, x, p)  lp2bp(b, a)  lp2bs(b, a)  lp2hp(b, a)  lp2lp(b, a)  medfilt(x, 3)
medfilt2d(I)  minimum_phase(p)  normalize(b, a)  oaconvolve(x, b)  order_filter(I, w > 0, 4)
peak_prominences(x, [2, 8])  peak_widths(x, [2, 8])  periodogram(x)  qspline1d(x)  qspline1d_eval(x, s)
qspline2d(I)  resample(x, 12)  resample_poly(x, 3, 2)  residue(b, a)  residuez(b, a)  sawtooth(x)
sepfir2d(I, b, b)  sos2tf(sos)  sos2zpk(sos)  sosfilt_zi(sos)  sosfiltfilt(sos, x)  spectrogram(x, nperseg=8)
spline_filter(I)  square(x)  ss2tf(M, M, M, M)  stft(x, nperseg=8)  sweep_poly(s, b)
symiirorder1(x, 0.5, 0.5)  symiirorder2(x, 0.5, 0.3)  tf2sos(b, a)  tf2ss(b, a)  tf2zpk(b, a)  unique_roots(x)
upfirdn(b, x, 2)  vectorstrength(s, 2.0)  welch(x, nperseg=8)  wiener(x, 3)  zoom_fft(x, [0.1, 0.4])
abcd_normalize(M, M, M, M)  bilinear_zpk(b, a, 1.0, fs=1.0)  firwin2(9, [0.0, 0.3, 0.5, 1.0], u[:4])
freqs(b, a, s)  lp2bp_zpk(b, a, 1.0)  lp2bs_zpk(b, a, 1.0)  lp2hp_zpk(b, a, 1.0)  lp2lp_zpk(b, a, 1.0)
sosfreqz(sos)  freqs_zpk(b, a, 1.0, s)
zpk2sos(b, a, 1.0)  zpk2tf(b, a, 1.0)  dimpulse((b, a, 1.0))  cont2discrete((M, M, M, M), 0.1)
butter(3, u[0])  butter(2, u[:2] * [0.3, 0.9], "bandpass", output="zpk")  cheby1(3, 1.0, u[0])  cheby2(3, 20.0, u[0])
ellip(3, 1.0, 40.0, u[0])  bessel(3, u[0])  iirfilter(4, u[0], btype="low")  iirnotch(u[0], 30.0)
iirpeak(u[0], 30.0)  firwin(9, u[0])  firwin_2d((5, 5), ("hamming", "hamming"), fc=u[0])
savgol_coeffs(5, 2, deriv=1, delta=u[0])
""",
    "ndimage": """
affine_transform(I, rot2)  affine_transform(I, rot2, order=1)  binary_closing(B)  binary_dilation(B)
binary_erosion(B)  binary_fill_holes(B)  binary_hit_or_miss(B)  binary_opening(B)  binary_propagation(B)
black_tophat(I, 3)  center_of_mass(I)  distance_transform_bf(B)  distance_transform_cdt(B)
distance_transform_edt(B)  extrema(I)  fourier_ellipsoid(I, 2.0)  fourier_gaussian(I, 2.0)
fourier_shift(I, 2.0)  fourier_uniform(I, 2.0)  gaussian_gradient_magnitude(I, 1.0)  gaussian_laplace(I, 1.0)
grey_closing(I, 3)  grey_dilation(I, 3)  grey_erosion(I, 3)  grey_opening(I, 3)  histogram(I, -1, 1, 5)
label(B)  maximum(I)  maximum(I, L, [1, 2])  maximum_filter1d(I, 3)  maximum_position(I)  mean(I)
mean(I, L, [1, 2])  median(I)  median(I, L, [1, 2])  minimum(I)  minimum_filter1d(I, 3)  minimum_position(I)
morphological_gradient(I, 3)  morphological_laplace(I, 3)  percentile_filter(I, 40, 3)  rank_filter(I, 4, 3)
rotate(I, 30.0)  rotate(I, 20.0, order=1)  shift(I, 0.7)  shift(I, 0.7, order=2, mode="mirror")
spline_filter(I)  spline_filter1d(I, 5)  standard_deviation(I)  standard_deviation(I, L, [1, 2])  sum(I)
sum_labels(I, L, [1, 2])  variance(I)  variance(I, L, [1, 2])  white_tophat(I, 3)  zoom(I, 2.0)
zoom(I, 1.5, order=5)  map_coordinates(I, R.T[:2] + 3)
map_coordinates(I, R.T[:2] + 3, order=5, mode="mirror")  generic_filter(I, np.sum, 3)
generic_gradient_magnitude(I, sobel)  generic_laplace(I, second)  labeled_comprehension(I, L, [1, 2], np.mean, float, 0)
vectorized_filter(I, np.mean, size=3)
geometric_transform(I, flip)
""",
    "stats": """
alexandergovern(x, y)  anderson(x)  ansari(x, y)  bartlett(x, y)  boxcox(p, 0.5)  boxcox_llf(0.5, p)
brunnermunzel(x, y)  chatterjeexi(x, y)  chi2_contingency(w)  chisquare(p / p.sum(), q / q.sum())  circmean(x)
circstd(x)  circvar(x)  combine_pvalues(u)  cumfreq(x)  describe(x)
differential_entropy(x)  directional_stats(R)  energy_distance(x, y)  epps_singleton_2samp(x, y)
expectile(x)  f_oneway(x, y)  f_oneway(R, M)  fisher_exact(k[:4].reshape(2, 2))  spearmanrho(x, y)
false_discovery_control(u)  fligner(x, y)  friedmanchisquare(x, y, p)  gstd(p)  gzscore(p)  iqr(x)
jarque_bera(x)  kendalltau(x, y)  kruskal(x, y)  ks_2samp(x, y)  kstest(x, y)  kstat(x)  kstatvar(x)  kurtosistest(x)
levene(x, y)  linregress(x, y)  lmoment(x)  mannwhitneyu(x, y)  median_abs_deviation(x)  median_test(x, y)
mode(k)  moment(x, 3)  mood(x, y)  normaltest(x)  obrientransform(x, y)  pearsonr(x, y)
percentileofscore(x, 0.3)  pmean(p, 2)  pointbiserialr(t, x)  power_divergence(p / p.sum(), q / q.sum())
ppcc_max(x)  quantile(x, 0.3)  rankdata(x)  ranksums(x, y)  relfreq(x)  scoreatpercentile(x, 30)  shapiro(x)
siegelslopes(x, y)  sigmaclip(x)  skewtest(x)  somersd(x, y)  spearmanr(x, y)  theilslopes(x, y)
tiecorrect(s)  tmax(x)  tmean(x)  tmin(x)  trim1(x, 0.1)  trim_mean(x, 0.1)  trimboth(x, 0.1)  tsem(x)
tstd(x)  ttest_1samp(x, 0.2)  ttest_ind(x, y)  ttest_ind(x, y, equal_var=False)
ttest_ind_from_stats(p, p, 9, q, q, 8)  ttest_rel(x, y)  tvar(x)  variation(p)  wasserstein_distance(x, y)
weightedtau(x, y)  wilcoxon(x)  yeojohnson(x, 0.5)  yeojohnson_llf(0.5, x)  zmap(x, y)
""",
    "spatial.distance": """
braycurtis(x, y)  canberra(x, y)  chebyshev(x, y)  cityblock(x, y)  correlation(x, y)  cosine(x, y)
dice(t, v)  euclidean(x, y)  hamming(k, k)  is_valid_dm(S)  rel_entr(u, p)  is_valid_y(x[:6])  jaccard(t, v)
jensenshannon(p, q)  mahalanobis(c, d, S)  minkowski(x, y, 3)  num_obs_y(x[:6])  rogerstanimoto(t, v)
russellrao(t, v)  seuclidean(x, y, p)  sokalsneath(t, v)  sqeuclidean(x, y)  yule(t, v)
directed_hausdorff(R, M)
""",
    "spatial": """
distance_matrix(R, M)  geometric_slerp(unit(c), unit(d), u)
minkowski_distance(R, R[:1])  minkowski_distance_p(R, R[:1])  procrustes(M, N)
""",
    "cluster.hierarchy": """
correspond(Z, x[:15])  is_isomorphic(k, k)  is_monotonic(Z)  is_valid_linkage(Z)  num_obs_linkage(Z)
to_mlab_linkage(Z)  linkage(R)  linkage(R, "average", "cityblock")  single(R)  complete(p[:15])  average(R)
weighted(R)  centroid(R)  median(R)  ward(R)  cophenet(Z)  fcluster(Z, 1.0)  fcluster(Z, 1.5, "distance")
fcluster(Z, 2, "maxclust")  fcluster(Z, 1.5, "monocrit", monocrit=Z[:, 2])
fcluster(Z, 2, "maxclust_monocrit", monocrit=Z[:, 2])  fclusterdata(R, 1.0)  inconsistent(Z)  leaves_list(Z)
from_mlab_linkage(Z[:, :3] + 1)  is_valid_im(Z)  maxRstat(Z, Z, 1)  maxdists(Z)  maxinconsts(Z, Z)
""",
    "cluster.vq": """
whiten(R)  vq(R, M)  py_vq(R, M)  kmeans(R, R[:2])  kmeans2(R, R[:2], minit="matrix")
""",
    "fft": """
fht(p, 0.1, 0.5)  ifht(p, 0.1, 0.5)  hfft2(M)  ihfft2(M)  hfftn(M)  ihfftn(M)
""",
    "special": """
diric(x, 5)  assoc_laguerre(x, 3, 1)  factorial2(k)  factorialk(k, 3)  ellip_harm(0.5, 0.2, 2, 1, 0.3)
sph_harm_y(3, 1, u, p)  legendre_p(3, u)  stirling2(k, 2)  riccati_jn(3, 0.4)  lqn(2, 0.3)
""",
}


def _banded(a: np.ndarray) -> np.ndarray:
    """The upper half of a matrix with three diagonals, as LAPACK stores it."""
    return np.stack([np.concatenate([a[:1, 0] * 0, np.diagonal(a, 1)]), np.diagonal(a)])


def _second(x: np.ndarray, axis: int, output: Any, mode: str, cval: float) -> Any:
    return scipy.ndimage.correlate1d(x, [1, -2, 1], axis, output, mode, cval)


HELPERS = {
    "b3": _banded,
    "unit": lambda v: v / np.sqrt(np.sum(v * v)),
    "q4": lambda m: np.linalg.qr(m)[0],
    "stft8": lambda x: scipy.signal.stft(x, nperseg=8)[2],
    "rot2": np.array([[0.9, -0.2], [0.15, 1.1]]),
    "s4": lambda x: np.concatenate([x, -x, x, -x]),
    "exp": np.exp,
    "sobel": scipy.ndimage.sobel,
    "second": _second,
    "flip": lambda at: (at[0] * 0.9, at[1] + 0.2),
}


def calls(module: str) -> list[str]:
    return [c for line in CALLS[module].strip().splitlines() for c in line.split("  ")]
