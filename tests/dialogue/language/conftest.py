import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")
