# SPDX-License-Identifier: MIT
# number plus untested value
# expect: reject null_arith 7
lookup @counts, 4
# near: jeq %r0, 0, out
mov %r1, 8
add %r1, %r0
# near: out:
mov %r0, 0
exit
