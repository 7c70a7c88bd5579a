# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, %r1
lddw map_value %r1, @data, 0
call 93
stw [%r6+76], 4
lddw map_value %r1, @data, 0
call 94
mov %r0, 0
exit
