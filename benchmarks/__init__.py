"""How fast surecut is, as ratios to something everyone has, measured in one run (`python -m benchmarks`)."""
