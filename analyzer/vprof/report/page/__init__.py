"""The HTML page of `vprof report`: one file that shows a run, needs no network, and computes no figure of its own.

Analysis -> report/json.py, variance/explain.py, path.py ┐
intervals -> [latency.py]                       ├-> [data.py] -> [plain.py] -> [html.py] + assets/ -> page
drill/session.json                              ┘
"""
