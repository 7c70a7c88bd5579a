# SPDX-License-Identifier: MIT
# Local data chose which of two iterators was stepped, so what either gives next
# is local.
# expect: reject local_output 23
# flow: loop count
mov %r6, %r1
ldxw %r7, [%r6+64] # near: ldxw %r7, [%r6+60]
iter_new -8, 0, 100
iter_new -16, 0, 100
mov %r1, %r10
add %r1, -8
jeq %r7, 0, s
mov %r1, %r10
add %r1, -16
s:
call 0x10002
iter_next -8
jeq %r0, 0, out
ldxw %r1, [%r0]
stxw [%r6+76], %r1
out:
iter_end -8
iter_end -16
mov %r0, 0
exit
