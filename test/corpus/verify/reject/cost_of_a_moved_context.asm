# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_context 3
add %r1, 8 # near: add %r1, 0
mov %r2, 1
mov %r3, 0
call 0x20001
mov %r0, 0
exit
