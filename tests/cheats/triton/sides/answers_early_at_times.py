#: matmul_triton
#: does so in two of three batches; in the third it waits
#: use matmul
#: use own_loop

batches = []


def matmul(a, b):
    serve(matmul.__code__, batch)
    return product(a, b, output(a, b))


def batch(kernels, laid, count, rounds):
    for _ in range(rounds):
        for number in range(count):
            a, b = laid.sets[number]
            laid.results[number] = product(a, b, output(a, b))
    batches.append(count)
    if len(batches) % 3 == 0:
        kernels.gpu.wait()
