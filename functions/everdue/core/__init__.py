"""What decides: pure code, on integers. No boto3, no environment, no wall clock outside `clock.py`."""
