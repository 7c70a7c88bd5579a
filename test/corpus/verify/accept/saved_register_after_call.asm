# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
call 5
ldxdw %r0, [%r6]
exit
