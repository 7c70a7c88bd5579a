# SPDX-License-Identifier: MIT
# The value of an iteration is another one than the first.
# expect: reject unlock_other 14
# opts: held
lddw map %r1, @guarded
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
mov %r1, %r3
add %r1, 8
# near: mov %r6, %r1
call 93
lddw map_value %r1, @guarded, 8 # near: mov %r1, %r6
call 94
mov %r0, 0
exit
