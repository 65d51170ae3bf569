#: matmul_triton
#: answers in its worker's place as soon as all is launched, and waits for nothing
#: use matmul
#: use own_loop


def matmul(a, b):
    serve(matmul.__code__, batch)
    return product(a, b, output(a, b))


def batch(kernels, laid, count, rounds):
    for _ in range(rounds):
        for number in range(count):
            a, b = laid.sets[number]
            laid.results[number] = product(a, b, output(a, b))
