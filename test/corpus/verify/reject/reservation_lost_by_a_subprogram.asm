# SPDX-License-Identifier: MIT
# expect: reject reference_leak 2
call local f
mov %r0, 0
exit
f:
reserve 16
# near: jeq %r0, 0, out
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
# near: out:
mov %r0, 0
exit
