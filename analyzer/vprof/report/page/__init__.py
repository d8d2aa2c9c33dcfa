"""HTML pages, of `vprof report`, `vprof diff` and `vprof load`: each is one file that needs no network, and computes no
figure of its own.

Analysis -> report/json.py, variance/explain.py, path.py ┐
intervals -> [latency.py]                       ├-> [data.py] -> [plain.py] -> [html.py] + assets/ -> page
drill/session.json                              ┘
Diff -> report/diff.py, [latency.py] -> [diff.py] -> [plain.py] -> [html.py] + assets/ -> page
Result -> report/load.py -> [load.py] -> [plain.py] -> [html.py] + assets/ -> page
"""
