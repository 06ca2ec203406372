"""The evidence behind topktree: experiments and benchmarks, and the pages of its documentation that they write."""
