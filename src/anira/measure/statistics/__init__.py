"""The mathematics of estimates: intervals, resampling, shuffling, correlations and linear fits. No tables, no files."""
