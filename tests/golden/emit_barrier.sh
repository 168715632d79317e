"$BUILD/tests/golden/test_emit" barrier
