"""The instrumented Redis that the tests of this folder share, from the cache or built now."""

from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say
from kept_builds import server_fixtures

redis, target = server_fixtures("redis")
"""Redis, built by `vprof instrument --target redis`: what its descriptor promises."""
