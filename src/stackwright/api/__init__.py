"""The API of our custom resources: one pydantic model per kind. `crd.py` generates the CRDs from them."""
