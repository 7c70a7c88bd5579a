# SPDX-License-Identifier: MIT
# golden
# The iterator has ended on the path that is walked first, and may still return
# its 0 on the second; what follows an element reads past the stack's bytes.
# expect: reject stack_uninit 17
mov %r7, %r1
ldxw %r3, [%r7+28]
and %r3, 1
iter_over -8, 0
ldxw %r6, [%r7+32]
jgt %r6, 4, meet
iter_next -8
jne %r0, 0, out
meet:
iter_next -8
jeq %r0, 0, out
ldxdw %r2, [%r10-64] # near:
out:
iter_end -8
mov %r0, 0
exit
