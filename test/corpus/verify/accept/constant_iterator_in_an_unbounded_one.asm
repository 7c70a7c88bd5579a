# SPDX-License-Identifier: MIT
# The inner iterator begins in each iteration of one that yields too many
# numbers for a reserve of steps, so its steps are not reserved either: they
# count among the constant iterations.
# expect: accept constant 7
iter_new -8, 0, 5000
next:
iter_next -8
jeq %r0, 0, done
iter_new -16, 0, 7
inner:
iter_next -16
jne %r0, 0, inner
iter_end -16
ja next
done:
iter_end -8
mov %r0, 0
exit
