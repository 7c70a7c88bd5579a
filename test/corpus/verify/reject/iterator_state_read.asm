# SPDX-License-Identifier: MIT
# golden
# expect: reject object_read 5
iter_new -8, 0, 4
ldxw %r6, [%r10-4] # near: mov %r6, 0
iter_end -8
mov %r0, 0
exit
