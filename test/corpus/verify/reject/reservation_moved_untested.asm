# SPDX-License-Identifier: MIT
# expect: reject null_arith 6
reserve 16
# near: jeq %r0, 0, out
mov %r1, %r0
add %r1, 8
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
# near: out:
mov %r0, 0
exit
