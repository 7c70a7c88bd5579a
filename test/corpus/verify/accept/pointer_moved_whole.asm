# SPDX-License-Identifier: MIT
# expect: accept
mov %r2, %r1
ldxw %r0, [%r2+24]
exit
