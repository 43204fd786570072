"""The commands `dorm` and `dorm-events`: words in, the API or the log asked, words out.

Exit codes of both: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 conflict (of
`dorm-events`: the history is corrupt), 5 nothing answers,
130 interrupted by Ctrl-C (what follows until Ctrl-C ends with 0).
"""
