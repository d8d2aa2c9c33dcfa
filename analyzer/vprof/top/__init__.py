"""A look at a running session, every two seconds: what varies in the last ones, and the keys that ask for more.

    session -> [engine.py] pieces -> [window.py] the newest, [join.py] as one trace -> the document of `vprof analyze`
      -> [view.py] what one refresh found -> [screen.py] what of it is shown -> [drawing.py] lines of text
    [app.py] a terminal, or [printing.py] a line a refresh; keys -> [orders.py] -> engine -> [switches.py] probes
    [running.py] whose session it is, and what runs in it

In: a session. Out: what people see; traces of a window that they save.

Imports: path, report, session, tables, target, trace, variance, watch.
"""
