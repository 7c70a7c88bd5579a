# SPDX-License-Identifier: MIT
# expect: accept
find @sink
stdw [%r0], 1
