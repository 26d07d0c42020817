"""Every policy on one backbone, judged alike: accuracy at equal compute, need, alignment and regret (notes.md)."""
