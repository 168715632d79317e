"$BUILD/tests/golden/test_emit" switch
