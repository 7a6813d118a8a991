"""Programs in JAX's idiom. With the imports that stand behind `# JAX:` they run on JAX, and compute the same."""
