# SPDX-License-Identifier: MIT
# expect: reject use_after_release 13
ldxw %r3, [%r1+28]
iter_over -8, 0
iter_next -8
mov %r6, %r0
mov %r1, %r10
add %r1, -8
call 0x10003 # near:
jeq %r6, 0, out
ldxw %r6, [%r6]
out:
# near: call 0x10003
mov %r0, 0
exit
