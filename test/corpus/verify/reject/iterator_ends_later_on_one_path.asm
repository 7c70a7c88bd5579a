# SPDX-License-Identifier: MIT
# golden
# The iterator has one number on one path and two on the other; what follows
# the second number reads bytes of the stack that were never written.
# expect: reject stack_uninit 18
ldxw %r6, [%r1+32]
mov %r3, 1
jgt %r6, 4, begin
mov %r3, 2
begin:
iter_over -8, 0
jgt %r6, 8, meet
mov %r0, 0
meet:
iter_next -8
jeq %r0, 0, out
iter_next -8
jeq %r0, 0, out
ldxdw %r2, [%r10-64] # near:
out:
iter_end -8
mov %r0, 0
exit
