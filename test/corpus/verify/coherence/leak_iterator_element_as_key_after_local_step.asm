# SPDX-License-Identifier: MIT
# Some ranks took a number more before all look one up by its place.
# expect: reject local_output 23
# flow: loop count
mov %r6, %r1
iter_new -8, 0, 4
iter_next -8
jeq %r0, 0, out
mov %r7, %r0
call 7
and %r0, 1 # near: and %r0, 0
jeq %r0, 0, over
iter_next -8
over:
lddw map %r1, @limits
mov %r2, %r7
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
stxw [%r6+76], %r1
out:
iter_end -8
mov %r0, 0
exit
