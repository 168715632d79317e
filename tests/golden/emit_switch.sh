# SPDX-License-Identifier: MIT
"$BUILD/tests/golden/test_emit" switch
