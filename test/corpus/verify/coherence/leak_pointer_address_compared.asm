# SPDX-License-Identifier: MIT
# expect: reject local_control 9
# flow: branch
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
jgt %r0, %r10, out # near:
stw [%r6+76], 4
out:
mov %r0, 0
exit
