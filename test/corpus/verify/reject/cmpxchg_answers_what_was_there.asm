# SPDX-License-Identifier: MIT
# What was expected is no longer in r0.
# expect: reject pointer_range 5
lddw map_value %r6, @bss, 0
mov %r0, 0
mov %r1, 1
lock cmpxchg [%r6], %r1
# near: and %r0, 7
add %r6, %r0
ldxb %r0, [%r6]
mov %r0, 0
exit
