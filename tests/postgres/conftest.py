"""The instrumented PostgreSQL that the tests of this folder share, from the cache or built now."""

import sys
from pathlib import Path

from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say
from kept_builds import server_fixtures

sys.path.append(str(Path(__file__).parents[2] / "targets"))

postgres, target = server_fixtures("postgres")
