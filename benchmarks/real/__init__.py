"""Real two-stage systems, run from models inside wheels: score tables, the ones that ship, and the page about them."""
