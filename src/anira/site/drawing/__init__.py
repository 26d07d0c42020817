"""Figures: one style, drawn by matplotlib, as SVG that stands inside a page."""
