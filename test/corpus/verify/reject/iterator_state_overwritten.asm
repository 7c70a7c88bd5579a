# SPDX-License-Identifier: MIT
# golden
# expect: reject object_write 5
iter_new -8, 0, 4
stw [%r10-4], 1000 # near: stw [%r10-12], 1000
iter_end -8
mov %r0, 0
exit
