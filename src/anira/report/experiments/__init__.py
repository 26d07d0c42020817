"""The pages of experiments: each a `Sheet` of sections, with the tables behind them."""
