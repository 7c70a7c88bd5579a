# SPDX-License-Identifier: MIT
# What a helper writes into a value leaves the stack as it is.
# expect: accept
stdw [%r10-8], 49
mov %r1, %r10
add %r1, -8
mov %r2, 8
mov %r3, 0
lddw map_value %r4, @bss, 8
call 105
mov %r0, 0
exit
