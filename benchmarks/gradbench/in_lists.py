"""States in lists instead of arrays, for libraries that do not differentiate writes into arrays."""


def lstm(m):
    def predict(weights, extra, state, x):
        x, found = x * extra[0], []
        for i in range(0, len(state), 2):
            found += m.cell(weights[i], weights[i + 1], state[i], state[i + 1], x)
            x = found[-2]
        return x * extra[1] + extra[2], found

    def lstm(weights, extra, state, sequence):
        state, total = list(state), 0.0
        for t in range(sequence.shape[0] - 1):
            bits, state = predict(weights, extra, state, sequence[t])
            total = total + m.likelihood(bits, sequence[t + 1])
        return -total / ((sequence.shape[0] - 1) * sequence.shape[1])

    m.lstm = lstm
    return {}
