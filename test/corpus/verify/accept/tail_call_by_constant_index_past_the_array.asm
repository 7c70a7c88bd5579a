# SPDX-License-Identifier: MIT
# It falls through.
# expect: accept
lddw map %r2, @loose
mov %r3, 100
call 12
mov %r0, 0
exit
