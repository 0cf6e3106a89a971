"""What users write: one pydantic model per kind, nothing else. `crd.py` turns them into CRDs."""
