"""Models of the package transformers, small and with random weights, as its users call them."""

import copy

import pytest
import torch
import transformers

import sdgrad

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
IDS = torch.tensor([[5, 17, 33, 2, 60, 8, 11], [1, 1, 63, 0, 42, 7, 9]])


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config), {"labels": IDS}


def bert():
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES, max_position_embeddings=16))
    mask = torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
    return model, {"labels": torch.tensor([0, 1]), "attention_mask": mask}


def llama():
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=1, max_position_embeddings=16)
    return transformers.LlamaForCausalLM(config), {"labels": IDS}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("make", [gpt2, bert, llama], ids=lambda f: f.__name__)
def test_model(make, dtype):
    """Keyword arguments in, the package's own kind of result out (with the cache of keys and values), and dropout.

    Losses and rotations are in single precision in every model.
    """
    torch.manual_seed(0)
    model, given = make()
    model.train().to(dtype)
    eager = copy.deepcopy(model)
    results = []
    for call in (sdgrad.Module(model), eager):
        torch.manual_seed(1)
        results.append(call(input_ids=IDS, **given))
        results[-1].loss.backward()
    assert type(results[0]) is type(results[1]) and list(results[0]) == list(results[1])
    torch.testing.assert_close(results[0].loss, results[1].loss, rtol=0, atol=1e-6)
    torch.testing.assert_close(results[0].logits, results[1].logits, rtol=0, atol=1e-6)
    for (name, mine), right in zip(model.named_parameters(), eager.parameters(), strict=True):
        assert (mine.grad is None) == (right.grad is None), name
        if right.grad is not None:
            torch.testing.assert_close(mine.grad, right.grad, rtol=0, atol=1e-6)
