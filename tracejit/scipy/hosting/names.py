"""Functions of SciPy whose own Python code is followed."""

from __future__ import annotations

#: Module -> its functions that are followed.
_NAMES: dict[str, str] = {
    "cluster.hierarchy": """
        average centroid complete cophenet correspond fcluster fclusterdata from_mlab_linkage inconsistent
        is_isomorphic is_monotonic is_valid_im is_valid_linkage leaves_list linkage maxRstat maxdists
        maxinconsts median num_obs_linkage single to_mlab_linkage ward weighted
    """,
    "cluster.vq": """
        py_vq whiten
    """,
    "linalg": """
        cdf2rdf companion convolution_matrix diagsvd fiedler leslie matmul_toeplitz null_space orth
        pinvh solve_discrete_lyapunov
    """,
    "ndimage": """
        binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening
        binary_propagation black_tophat distance_transform_edt extrema generic_gradient_magnitude generic_laplace
        grey_closing
        grey_dilation grey_erosion grey_opening histogram label labeled_comprehension maximum maximum_position median
        minimum minimum_position morphological_gradient morphological_laplace percentile_filter rank_filter
        rotate vectorized_filter white_tophat
    """,
    "signal": """
        abcd_normalize argrelextrema argrelmax argrelmin bessel bilinear_zpk butter cheby1 cheby2 chirp
        cont2discrete cspline1d deconvolve ellip envelope find_peaks firwin firwin2 firwin_2d freqs freqs_zpk
        freqz freqz_sos freqz_zpk gauss_spline gausspulse get_window hilbert2 iircomb iirfilter iirnotch iirpeak
        istft kaiser_atten kaiser_beta lombscargle lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp
        lp2lp_zpk minimum_phase oaconvolve peak_prominences peak_widths qspline1d resample savgol_coeffs
        sosfreqz square sweep_poly vectorstrength wiener
    """,
    "signal.windows": """
        chebwin dpss exponential gaussian general_cosine general_gaussian general_hamming kaiser kaiser_bessel_derived
        taylor
    """,
    "spatial": """
        distance_matrix geometric_slerp minkowski_distance minkowski_distance_p procrustes
    """,
    "spatial.distance": """
        braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming is_valid_y jaccard
        jensenshannon mahalanobis minkowski num_obs_y rel_entr rogerstanimoto russellrao seuclidean sokalsneath
        sqeuclidean yule
    """,
    "special": """
        assoc_laguerre ellip_harm lqn riccati_jn
    """,
    "stats": """
        alexandergovern ansari bartlett boxcox boxcox_llf brunnermunzel chatterjeexi chisquare circmean circstd
        circvar combine_pvalues cumfreq describe differential_entropy directional_stats
        energy_distance epps_singleton_2samp expectile f_oneway false_discovery_control fisher_exact fligner
        friedmanchisquare gstd gzscore iqr jarque_bera kendalltau kruskal ks_2samp kstat kstatvar kstest
        kurtosistest levene linregress lmoment mannwhitneyu median_abs_deviation median_test mode moment mood
        normaltest obrientransform pmean pointbiserialr power_divergence quantile rankdata ranksums relfreq
        scoreatpercentile shapiro siegelslopes sigmaclip skewtest spearmanrho theilslopes tiecorrect tmax tmean
        tmin trim_mean ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel wasserstein_distance wilcoxon
        yeojohnson yeojohnson_llf
    """,
}
#: Module -> its classes that are followed like a user's.
CLASSES = {
    "signal": ["CZT", "StateSpace", "TransferFunction", "ZerosPolesGain", "ZoomFFT", "dlti", "lti"],
}
FOLLOWED = frozenset(f"scipy.{module}.{name}" for module, names in _NAMES.items() for name in names.split())

#: Other packages whose compiled functions and classes compute from what they are given, and do nothing else that can be
#: seen but write into arrays among it. Of scikit-learn, functions of Python's as well.
COMPUTING = frozenset(("sklearn", "skimage", "pywt", "skbio", "bottleneck", "hmmlearn", "transformations"))
#: Parts of them that do more.
OTHERWISE = (
    *(
        "sklearn.datasets._base",
        "sklearn.datasets._svmlight",
        "sklearn._config",
        "sklearn.utils._show_versions",
    ),
    *("sklearn.utils.validation", "skimage.io", "skimage.data"),
)
#: The classes of compiled functions.
COMPILED = ("builtin_function_or_method", "cython_function_or_method", "fused_cython_function")
