"""Reports: one HTML file for a run or a comparison, which loads nothing and runs one script."""
