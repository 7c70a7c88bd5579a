# SPDX-License-Identifier: MIT
# The array changes on all ranks at the same decision.
# expect: accept
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
