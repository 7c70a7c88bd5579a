# SPDX-License-Identifier: MIT
# expect: accept
find @counts
load_acquire64 %r1, [%r0]
store_release32 [%r0+8], %r1
