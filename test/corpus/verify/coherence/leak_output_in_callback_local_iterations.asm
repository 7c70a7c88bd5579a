# SPDX-License-Identifier: MIT
# Whether the callback runs at all is local.
# expect: reject local_control 8
# flow: callback
mov %r3, %r1
ldxw %r1, [%r1+64] # near: ldxw %r1, [%r1+60]
lddw func %r2, cb
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
stw [%r2+76], 4
mov %r0, 0
exit
