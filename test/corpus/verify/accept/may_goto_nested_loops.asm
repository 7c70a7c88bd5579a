# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 0
a:
may_goto x
mov %r2, 0
b:
may_goto a
add %r2, 1
ja b
x:
exit
